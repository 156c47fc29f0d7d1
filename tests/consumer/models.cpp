// Continues a text with the model that the library contains.
#include <attn/models/generate.hpp>
#include <attn/models/open_model.hpp>
#include <iostream>

int main() {
    using namespace attn::models;
    const Model model = open_model("stories");
    std::vector<std::int64_t> ids = model.encode("Once upon a time");
    const std::size_t prompt = ids.size();

    Runtime<float> runtime(model);
    Sampler likeliest({.temperature = 0});
    generate<float>(runtime, ids, 12, likeliest, 0,
                    [&](const WrittenToken& token) { ids.push_back(token.id); });
    std::cout << text_of(*model.tokenizer, ids) << "\n"
              << ids.size() - prompt << " tokens by " << model.label << "\n";
}
