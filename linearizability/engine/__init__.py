"""The engines that run the kernels: polars in this process, or Spark on pieces of the history."""
