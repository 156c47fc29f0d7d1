#include "attn/ground/text/strings.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/workbook_layout.hpp"

// The head of a sheet, the index, and the hidden record.

namespace attn {

std::string range_name(const std::string& name) {
    std::string text;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        text += std::isalnum(byte) != 0 || c == '_' || byte >= 0x80 ? c : '_';
    }
    const std::size_t letters = text.find_first_of("0123456789");
    const bool is_address =
        letters <= 3 && text.find_first_not_of("0123456789", letters) == text.npos;
    const std::string small = lower(text);
    const bool is_in_use =
        small == "r" || small == "c" || small == "true" || small == "false" ||
        (small.size() < 12 && small.find_first_not_of("rc0123456789") == small.npos);
    const bool begins = !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0;
    return (letters != text.npos && is_address) || is_in_use || !begins ? "_" + text : text;
}

void write_head(const Document& document, const WorkbookLayout& layout, std::size_t i,
                WorkbookSheet& sheet) {
    std::string title = "Attention, step by step";
    const std::size_t sequence = i == 0 ? 0 : i - 1;
    const bool has_words = sequence < document.query_tokens.size();
    if (has_words && (i > 0 || layout.titles.size() == 1)) {
        title = "Attention over '" + joined(document.query_tokens[sequence], " ") + "'";
    } else if (layout.titles.size() > 1) {
        title = "What all sequences share";
    }
    sheet.put(0, 0, CellStyle::heading, title);
    sheet.heights[0] = 26;
    sheet.put(1, 0, CellStyle::link, "index");
    sheet.links.emplace_back("A2", "index!A1");
    sheet.at(1, 1) = {WorkbookCell::Kind::empty, CellStyle::given_number};
    sheet.put(1, 2, CellStyle::hint,
              "cells of this colour are inputs and parameters: change one, and everything is "
              "recomputed except the notes");
    sheet.put(2, 0, CellStyle::hint, "");
}

WorkbookSheet index_sheet(const Document& document, const WorkbookLayout& layout,
                          const std::string& specified_values) {
    WorkbookSheet index{.name = "index", .widths = {24, 12, 26, 78, 60}, .frozen_rows = 4};
    index.put(0, 0, CellStyle::heading, "Attention as a spreadsheet");
    index.heights[0] = 28;
    index.put(1, 0, CellStyle::hint,
              "Every number is a formula made from the rule of its step. Change a coloured cell, "
              "and everything is recomputed. Blocks have names: =SUM(weights) adds the weights.");
    index.put(2, 0, CellStyle::hint,
              document.command.empty() ? "" : "Made by: " + document.command);
    std::int64_t row = 3;
    for (const auto& [column, word] : {std::pair<std::int64_t, const char*>{0, "step"},
                                       {1, "sheet"},
                                       {2, "shape"},
                                       {3, "rule"},
                                       {4, "what it is"}}) {
        index.put(row, column, CellStyle::block, word);
    }
    for (const WorkbookLayout::Placed& placed : layout.placed) {
        const Section& section = *placed.section;
        const SheetBlock& block = layout.block(placed);
        const auto sheet = static_cast<std::size_t>(block.sheet);
        ++row;
        index.put(row, 0, CellStyle::link, section.name);
        index.links.emplace_back(address_text({row, 0}),
                                 layout.blocks.sheets[sheet] + "!" + address_text({placed.top, 0}));
        index.put(row, 1, CellStyle::hint, layout.titles[sheet]);
        index.put(row, 2, CellStyle::hint, shape_text(placed.tensor->shape()));
        index.put(row, 3, CellStyle::rule, section.formula);
        index.put(row, 4, CellStyle::hint, section.title.raw());
    }
    index.put(row + 2, 0, CellStyle::hint, specified_values);
    return index;
}

WorkbookSheet record_sheet(const Document& document, const WorkbookLayout& layout) {
    WorkbookSheet record{.name = workbook_record, .is_hidden = true};
    std::string settings = "{\"attn_explain\":\"\",\"config\":" + json_config(document) + "}";
    std::erase(settings, '\n');
    constexpr std::size_t piece = 30'000;
    for (std::size_t at = 0, column = 0; at < settings.size(); at += piece, ++column) {
        record.put(0, static_cast<std::int64_t>(column), CellStyle::plain,
                   settings.substr(at, piece));
    }
    std::int64_t row = 1;
    for (const WorkbookLayout::Placed& placed : layout.placed) {
        const SheetBlock& block = layout.block(placed);
        std::string moves;
        for (std::size_t axis = 0; axis < block.shape.size(); ++axis) {
            const auto& [rows, columns, sheets] = block.axes[axis];
            moves += (axis == 0 ? "" : ";") + placed.tensor->axes()[axis] + "," +
                     std::to_string(block.shape[axis]) + "," + std::to_string(rows) + "," +
                     std::to_string(columns) + "," + std::to_string(sheets);
        }
        const bool is_separate = block.sheet == 1;
        record.put(row, 0, CellStyle::plain, placed.section->name);
        record.put(row, 1, CellStyle::plain,
                   range_name(placed.section->name + (is_separate ? "_s0" : "")));
        record.put(row, 2, CellStyle::plain, moves);
        const bool is_given = placed.section->completed == nullptr;
        record.put(row++, 3, CellStyle::plain,
                   is_given                ? "given"
                   : placed.section->blank ? "blank"
                                           : "formula");
    }
    return record;
}

}  // namespace attn
