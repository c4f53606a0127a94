"""Parts that the twins share. A twin judges one guarantee a second time in slow, plain Python, as a
check on its fast kernel."""
