"""Write reports: one self-contained HTML page per run or demo, and findings for continuous
integration."""
