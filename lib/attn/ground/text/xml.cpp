#include "attn/ground/text/xml.hpp"

#include <algorithm>
#include <utility>

#include "attn/ground/text/strings.hpp"

namespace attn {

std::string xml_text(std::string_view text) {
    // Isolates around right-to-left words are for lines of text: here each text is separate.
    // Noncharacters are invalid in XML.
    std::string plain;
    while (!text.empty()) {
        const std::size_t next = std::min(text.find("\xE2\x81"), text.find("\xEF\xBF"));
        const std::string_view special = text.substr(0, 3);
        if (next > 0) {
            plain += visible(text.substr(0, next));
        } else if (special == "\uFFFE" || special == "\uFFFF") {
            plain += "\uFFFD";
        } else if (special != "\u2068" && special != "\u2069") {
            plain += visible(special);
        }
        text.remove_prefix(std::min(text.size(), next > 0 ? next : 3));
    }
    for (const auto& [letter, written] : {std::pair{"&", "&amp;"},
                                          {"<", "&lt;"},
                                          {">", "&gt;"},
                                          {"\"", "&quot;"},
                                          {"'", "&#39;"}}) {
        plain = replaced_all(std::move(plain), letter, written);
    }
    return plain;
}

}  // namespace attn
