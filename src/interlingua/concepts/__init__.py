"""What a shared space is made of: words in context, clustered into concepts; which correspond, and which mix."""
