"""TRL's side of bench.mjs: GRPOTrainer on a model folder, which takes one whole step a `grpo` command."""
import json
import os
import sys
import tempfile
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
import torch
import transformers
import trl
from datasets import Dataset, disable_progress_bars
from peak_memory import peak_memory

transformers.logging.set_verbosity_error()
disable_progress_bars()
answers, sys.stdout = sys.stdout, sys.stderr


def answer(value):
    print(json.dumps(value), file=answers, flush=True)


def await_command():
    """The next `grpo` command; memory is told on the way. At the end of the input the process ends."""
    for line in sys.stdin:
        if json.loads(line)["command"] == "memory":
            answer({"bytes": peak_memory()})
        else:
            return
    os._exit(0)


class Steps(transformers.TrainerCallback):
    def begin(self):
        await_command()
        self.start, self.cpu = time.perf_counter(), time.process_time()

    def on_train_begin(self, *_, **__):
        self.begin()

    def on_step_end(self, *_, **__):
        answer({"seconds": time.perf_counter() - self.start, "cpuSeconds": time.process_time() - self.cpu})
        self.begin()


def even_ids(completion_ids, **_):
    """The same reward as ours: the share of even ids."""
    return [sum(i % 2 == 0 for i in ids) / max(len(ids), 1) for ids in completion_ids]


def trainer(request):
    torch.set_num_threads(request["threads"])
    replies, prompts = request["grpo"]["replies"], request["prompts"]
    settings = trl.GRPOConfig(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=len(prompts) * replies,
        gradient_accumulation_steps=1,
        num_generations=replies,
        max_completion_length=request["grpo"]["maxTokens"],
        temperature=1.0,
        beta=0.0,
        loss_type="dapo",
        scale_rewards="group",
        num_iterations=1,
        learning_rate=1e-6,
        lr_scheduler_type="constant",
        max_grad_norm=1.0,
        max_steps=1_000_000,
        bf16=False,
        fp16=False,
        use_cpu=True,
        gradient_checkpointing=False,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        shuffle_dataset=False,
        dataloader_pin_memory=False,
    )
    model = transformers.AutoModelForCausalLM.from_pretrained(request["folder"], dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(request["folder"])
    return trl.GRPOTrainer(
        model=model,
        reward_funcs=even_ids,
        args=settings,
        train_dataset=Dataset.from_dict({"prompt": prompts}),
        processing_class=tokenizer,
        callbacks=[Steps()],
    )


try:
    ready = trainer(json.loads(sys.stdin.readline()))
    answer({"versions": {"trl": trl.__version__, "transformers": transformers.__version__, "torch": torch.__version__}})
    ready.train()
except Exception as error:  # told to the one who asked
    answer({"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"})
