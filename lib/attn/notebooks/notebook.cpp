#include "attn/notebooks/notebook.hpp"

#include "attn/tensor/error.hpp"

namespace attn {

const std::vector<Notebook>& notebooks() {
    static const std::vector<Notebook> all{
        {"000", "padding-heads",
         "two heads cut from one fused projection, over a batch with padding", CodeLanguage::torch,
         padding_heads},
        {"001", "numpy-loops", "attention by NumPy loops, then by whole arrays, then head by head",
         CodeLanguage::numpy, numpy_loops},
        {"002", "causal-heads", "running averages become causal attention, with two and five heads",
         CodeLanguage::torch, causal_heads},
        {"003", "sentence", "one sentence: a single word first, then all words, then three heads",
         CodeLanguage::torch, sentence},
    };
    return all;
}

const Notebook& find_notebook(std::string_view name) {
    std::string names;
    for (const Notebook& notebook : notebooks()) {
        if (notebook.name == name || notebook.number == name) return notebook;
        names += (names.empty() ? "" : ", ") + notebook.name + " (" + notebook.number + ")";
    }
    throw ConfigError("there is no notebook '" + std::string(name) + "': use one of " + names);
}

}  // namespace attn
