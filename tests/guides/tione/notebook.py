"""A notebook as TI-ONE's guide has it: upload data and code, submit two nodes, read their logs, register the model."""

import json
import os
import sys

import danlu
from tikit import models
from tikit.client import Client

BUCKET, FOLDER = "main", "notebook-demo-classification"
client = Client("your_secret_id", "your_secret_key", "<region>")
os.makedirs("data", exist_ok=True)
with open("data/points.json", "w") as file:
    file.write(json.dumps(json.loads(sys.argv[1])))
client.upload_to_cos("data", BUCKET, f"{FOLDER}/")
for name in ("main.py", "start_cloud.sh"):
    client.upload_to_cos(name, BUCKET, f"{FOLDER}/code/")
task = client.create_training_task(
    "xxx5",
    models.FrameworkInfo.new_system_framework("PYTORCH", "torch1.9-guide", "DDP"),
    f"{BUCKET}/output/",
    models.ResourceConfigInfo.new_postpaid("TI.GUIDE.POST", 2),
    input_data_config=models.TrainingDataConfig.new_cos_data(
        {f"{BUCKET}/{FOLDER}/data/": "/opt/ml/input/data/image_classify"}
    ),
    code_package_path=f"{BUCKET}/{FOLDER}/code/",
    worker_start_cmd="sh start_cloud.sh",
).Id
danlu.Client().jobs.get(task).wait()
print(client.describe_train_logs(f"{task}*"))
environment = models.ReasoningEnvironment.new_system_environment("torch1.9-guide-inference")
where = models.CosPathInfo(BUCKET, f"output/{task}/", "<region>")
client.create_model_by_task("model1", task, environment, where, "PYTORCH")
print(task, client.describe_training_task(task).TrainingTaskDetail.Status)
