"""What checks rmaudit itself, and what its users do not need: `python -m lab` lists the programs.

Most audit *organisms*: scorers whose flaws are known because they were put there. An organism is a
function of texts and a prompt, and gives their scores, shape (n,), in units of its own. The same
text has the same score, whatever texts it comes with.
"""
