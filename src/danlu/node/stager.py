"""(placeholder until staging is written)"""
