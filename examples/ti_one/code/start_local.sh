# Two processes on your own machine.
python3 -c 'from pathlib import Path; import dots; dots.write_images(Path("data"))'
python3 -m torch.distributed.run --standalone --nproc_per_node=2 main.py data
