#include "attn/tensor/error.hpp"
#include "attn/walk/step.hpp"
#include "attn/walk/table_parts.hpp"

namespace attn {

const StepTable& step_table() {
    static const StepTable table = [] {
        StepTable all = input_steps();
        for (StepTable part : {parameter_steps(), projection_steps(), attention_steps()}) {
            std::move(part.begin(), part.end(), std::back_inserter(all));
        }
        return all;
    }();
    return table;
}

const Step& find_step(const StepTable& table, std::string_view name) {
    for (const Step& step : table) {
        if (step.name == name) return step;
    }
    std::string names;
    for (const Step& step : table) names += " " + step.name;
    throw ConfigError("there is no step '" + std::string(name) + "'; the steps are:" + names);
}

}  // namespace attn
