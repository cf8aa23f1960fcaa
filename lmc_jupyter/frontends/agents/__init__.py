"""Agents outside the notebook, such as Claude Code: `lmc-jupyter mcp` brings their code to a
kernel, where the person is asked about each block in the panel. docs/agents.md.
"""
