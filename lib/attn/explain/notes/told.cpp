#include "attn/explain/notes/told.hpp"

#include <algorithm>
#include <map>

#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {

const StepNote* told_of(const Step& step) {
    static const std::map<std::string, StepNote>& table = *[] {
        auto* all = new std::map<std::string, StepNote>;
        for (const auto part :
             {input_notes, norm_notes, latent_notes, projection_notes, position_notes, cache_notes,
              score_notes, mask_notes, share_notes, context_notes}) {
            for (StepNote& told : part()) all->emplace(told.step, std::move(told));
        }
        return all;
    }();
    if (!step.is_told || !step.mistake.empty()) return nullptr;
    const auto found = table.find(step.name);
    return found == table.end() ? nullptr : &found->second;
}

std::string file_note(const std::string& text, const Tensor& tensor) {
    BraceWords facts;
    std::size_t largest = 0, smallest = 0;
    for (std::size_t i = 1; i < tensor.size(); ++i) {
        if (tensor.at(i) > tensor.at(largest)) largest = i;
        if (tensor.at(i) < tensor.at(smallest)) smallest = i;
    }
    const bool differ = tensor.size() > 0 && tensor.at(largest) > tensor.at(smallest);
    const auto place_of = [&](std::size_t number) {
        const std::vector<std::size_t> place = indices_of(number, tensor.shape());
        return place.size() == 1 ? std::to_string(place[0]) : index_text(place);
    };
    if (differ) {
        facts = {{"largest", place_of(largest)},
                 {"largest_number", four_decimals(tensor.at(largest))},
                 {"smallest", place_of(smallest)},
                 {"smallest_number", four_decimals(tensor.at(smallest))}};
    }
    std::string said;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(". ", at), text.size() - 1) + 1;
        std::string sentence = text.substr(at, end - at);
        sentence = filled(sentence, facts);
        if (sentence.find('{') == sentence.npos) said += (said.empty() ? "" : " ") + sentence;
        at = end + 1;
    }
    return said;
}

}  // namespace attn::notes
