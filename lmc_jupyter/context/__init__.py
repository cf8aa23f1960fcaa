"""What a model is told beside the conversation.

One rule: each part is made by a small module here, cheaply, and knows nothing of the session.
"""
