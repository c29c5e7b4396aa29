"""Text -> a new model: vocabulary, anchors, mixture of languages, objective, training."""
