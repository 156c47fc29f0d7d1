#include "app/flags/known_words.hpp"

#include "app/flags/parse.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/mistakes/mistake.hpp"

namespace app {

std::vector<std::string> step_names() {
    std::vector<std::string> names;
    for (const attn::Step& step : attn::step_table()) names.push_back(step.name);
    return names;
}

std::vector<std::string> mistake_ids() {
    std::vector<std::string> ids;
    for (const attn::Mistake& mistake : attn::mistakes()) ids.push_back(mistake.id);
    return ids;
}

std::vector<std::string> shipped_models() { return {"stories", "sorter"}; }

std::string index_function(const std::string& indices) {
    std::string last = "Alias";
    for (const std::string& index : split(indices, ',')) {
        if (index == "...") continue;
        last = index.find(':') != std::string::npos ? "Slice" : "Select";
    }
    return "grad_fn=<" + last + "Backward0>";
}

}  // namespace app
