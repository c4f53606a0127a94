"""Clusters whose nodes have network namespaces of their own."""
