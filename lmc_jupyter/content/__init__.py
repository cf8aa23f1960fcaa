"""What messages carry: images, PDF files, MIME bundles, HTML and terminal output as plain text.

One rule: functions from content to content; nothing here knows a model, a view or the kernel.
"""
