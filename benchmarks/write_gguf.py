"""Writes a llama of random weights as GGUF: `write_gguf.py CONFIG_JSON FILE F32|F16`. Its tokenizer only has the right size."""
import json
import sys

import gguf
import numpy as np

config, path, kind = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
hidden, inner, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
heads, kv_heads, vocabulary = config["num_attention_heads"], config["num_key_value_heads"], config["vocab_size"]
head = hidden // heads
rope = config.get("rope_parameters", config)["rope_theta"]
random = np.random.default_rng(1)

writer = gguf.GGUFWriter(path, "llama")
writer.add_name("random weights")
writer.add_context_length(config["max_position_embeddings"])
writer.add_embedding_length(hidden)
writer.add_block_count(layers)
writer.add_feed_forward_length(inner)
writer.add_head_count(heads)
writer.add_head_count_kv(kv_heads)
writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
writer.add_rope_dimension_count(head)
writer.add_rope_freq_base(rope)
writer.add_vocab_size(vocabulary)
writer.add_file_type(gguf.LlamaFileType.ALL_F32 if kind == "F32" else gguf.LlamaFileType.MOSTLY_F16)
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("gpt-2")
writer.add_token_list([f"t{i}" for i in range(vocabulary)])
writer.add_token_types([gguf.TokenType.NORMAL] * vocabulary)
writer.add_token_merges(["t 0"])
writer.add_bos_token_id(0)
writer.add_eos_token_id(1)
writer.add_add_bos_token(False)


def matrix(name, *shape):
    values = random.standard_normal(shape, dtype=np.float32) * 0.02
    writer.add_tensor(name, values if kind == "F32" else values.astype(np.float16))


def norm(name):
    writer.add_tensor(name, np.ones(hidden, dtype=np.float32))


matrix("token_embd.weight", vocabulary, hidden)
norm("output_norm.weight")
for i in range(layers):
    norm(f"blk.{i}.attn_norm.weight")
    matrix(f"blk.{i}.attn_q.weight", hidden, hidden)
    matrix(f"blk.{i}.attn_k.weight", kv_heads * head, hidden)
    matrix(f"blk.{i}.attn_v.weight", kv_heads * head, hidden)
    matrix(f"blk.{i}.attn_output.weight", hidden, hidden)
    norm(f"blk.{i}.ffn_norm.weight")
    matrix(f"blk.{i}.ffn_gate.weight", inner, hidden)
    matrix(f"blk.{i}.ffn_up.weight", inner, hidden)
    matrix(f"blk.{i}.ffn_down.weight", hidden, inner)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
