#include "attn/files/io/workbook.hpp"

#include <fmt/format.h>

#include "attn/files/io/zip.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/ground/text/xml.hpp"

namespace attn {
namespace {

constexpr std::string_view xml_head =
    "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
constexpr std::string_view main_names = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
constexpr std::string_view office =
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
constexpr std::string_view packages = "http://schemas.openxmlformats.org/package/2006/";

std::string sheet_path(std::size_t i) {
    return "worksheets/sheet" + std::to_string(i + 1) + ".xml";
}

std::string content_types(const Workbook& workbook) {
    constexpr std::string_view kind =
        "application/vnd.openxmlformats-officedocument.spreadsheetml.";
    std::string text = fmt::format(
        "{}<Types xmlns=\"{}content-types\"><Default Extension=\"rels\" "
        "ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>"
        "<Default Extension=\"xml\" ContentType=\"application/xml\"/>"
        "<Override PartName=\"/xl/workbook.xml\" ContentType=\"{}sheet.main+xml\"/>"
        "<Override PartName=\"/xl/styles.xml\" ContentType=\"{}styles+xml\"/>",
        xml_head, packages, kind, kind);
    for (std::size_t i = 0; i < workbook.sheets.size(); ++i) {
        text += fmt::format("<Override PartName=\"/xl/{}\" ContentType=\"{}worksheet+xml\"/>",
                            sheet_path(i), kind);
    }
    return text + "</Types>";
}

std::string relations(const std::vector<std::pair<std::string, std::string>>& kinds_and_targets) {
    std::string text =
        fmt::format("{}<Relationships xmlns=\"{}relationships\">", xml_head, packages);
    for (std::size_t i = 0; i < kinds_and_targets.size(); ++i) {
        const auto& [kind, target] = kinds_and_targets[i];
        text += fmt::format("<Relationship Id=\"r{}\" Type=\"{}/{}\" Target=\"{}\"/>", i + 1,
                            office, kind, target);
    }
    return text + "</Relationships>";
}

std::string workbook_part(const Workbook& workbook) {
    std::string text = fmt::format(
        "{}<workbook xmlns=\"{}\" xmlns:r=\"{}\"><bookViews><workbookView activeTab=\"0\"/>"
        "</bookViews><sheets>",
        xml_head, main_names, office);
    for (std::size_t i = 0; i < workbook.sheets.size(); ++i) {
        const WorkbookSheet& sheet = workbook.sheets[i];
        text +=
            fmt::format("<sheet name=\"{}\" sheetId=\"{}\"{} r:id=\"r{}\"/>", xml_text(sheet.name),
                        i + 1, sheet.is_hidden ? " state=\"hidden\"" : "", i + 1);
    }
    text += "</sheets><definedNames>";
    for (const auto& [name, range] : workbook.names) {
        text += fmt::format("<definedName name=\"{}\">{}</definedName>", xml_text(name),
                            xml_text(range));
    }
    return text + "</definedNames><calcPr calcId=\"191029\" fullCalcOnLoad=\"1\"/></workbook>";
}

/// The parts of each CellStyle: font, fill, border, number format, alignment.
struct Look {
    int font, fill = 0, border = 0, format = 0;
    const char* alignment = "";
};
constexpr int decimals_format = 164, truth_format = 165, infinite_format = 166;
constexpr Look looks[] = {
    {0},
    {1},
    {2, 3},
    {3, 3},
    {4},
    {3, 0, 0, 0, "<alignment vertical=\"top\" wrapText=\"1\"/>"},
    {5, 0, 1, 0, "<alignment horizontal=\"right\"/>"},
    {5, 0, 0, 0, "<alignment horizontal=\"right\"/>"},
    {0, 0, 0, decimals_format},
    {0, 0, 0, 1},
    {0, 0, 0, truth_format, "<alignment horizontal=\"center\"/>"},
    {6, 2, 0, decimals_format},
    {6, 2, 0, 1},
    {6, 2, 0, truth_format, "<alignment horizontal=\"center\"/>"},
    {0, 4, 2, decimals_format},
    {7},
    {3},
    {0, 0, 0, infinite_format},
    {6, 2, 0, infinite_format},
};

/// Formats have two conditions, and LibreOffice writes no minus for what neither of them selects:
/// cells at infinity have a format of their own.
std::string styles_part() {
    std::string text = fmt::format(
        "{}<styleSheet xmlns=\"{}\"><numFmts count=\"3\"><numFmt numFmtId=\"{}\" "
        "formatCode=\"[&lt;-1E+290]&quot;-inf&quot;;[&lt;0]-0.0000;0.0000\"/>"
        "<numFmt numFmtId=\"{}\" "
        "formatCode=\"[&gt;1E+290]&quot;inf&quot;;[&lt;0]-0.0000;0.0000\"/>"
        "<numFmt numFmtId=\"{}\" "
        "formatCode=\"&quot;TRUE&quot;;&quot;TRUE&quot;;&quot;FALSE&quot;\"/>"
        "</numFmts>",
        xml_head, main_names, decimals_format, infinite_format, truth_format);
    struct Font {
        int size;
        const char *color, *name, *marks;
    };
    constexpr const char* sans = "Calibri";
    constexpr Font fonts[] = {
        {11, "FF1F2937", sans, ""},       {18, "FF111827", sans, "<b/>"},
        {13, "FF1E3A8A", sans, "<b/>"},   {11, "FF4B5563", sans, ""},
        {11, "FF0F766E", "Consolas", ""}, {11, "FF374151", sans, "<b/>"},
        {11, "FF1D4ED8", sans, ""},       {11, "FF1D4ED8", sans, "<u/>"},
    };
    text += fmt::format("<fonts count=\"{}\">", std::size(fonts));
    for (const auto& [size, color, name, marks] : fonts) {
        text += fmt::format("<font>{}<sz val=\"{}\"/><color rgb=\"{}\"/><name val=\"{}\"/></font>",
                            marks, size, color, name);
    }
    text +=
        "</fonts><fills count=\"5\"><fill><patternFill patternType=\"none\"/></fill>"
        "<fill><patternFill patternType=\"gray125\"/></fill>";
    for (const char* const color : {"FFFFF4CC", "FFE8EEF9", "FFF3F4F6"}) {
        text += fmt::format(
            "<fill><patternFill patternType=\"solid\"><fgColor rgb=\"{}\"/>"
            "</patternFill></fill>",
            color);
    }
    text +=
        "</fills><borders count=\"3\"><border><left/><right/><top/><bottom/></border>"
        "<border><left/><right/><top/><bottom style=\"thin\"><color rgb=\"FF9CA3AF\"/></bottom>"
        "</border><border>";
    for (const char* const side : {"left", "right", "top", "bottom"}) {
        text += fmt::format("<{} style=\"thin\"><color rgb=\"FF9CA3AF\"/></{}>", side, side);
    }
    text += fmt::format(
        "</border></borders><cellStyleXfs count=\"1\"><xf/></cellStyleXfs>"
        "<cellXfs count=\"{}\">",
        std::size(looks));
    for (const Look& look : looks) {
        text += fmt::format(
            "<xf numFmtId=\"{}\" fontId=\"{}\" fillId=\"{}\" borderId=\"{}\" "
            "xfId=\"0\" applyNumberFormat=\"1\" applyFont=\"1\" applyFill=\"1\" "
            "applyBorder=\"1\" applyAlignment=\"1\">{}</xf>",
            look.format, look.font, look.fill, look.border, look.alignment);
    }
    return text +
           "</cellXfs><dxfs count=\"1\"><dxf><font><color rgb=\"FF166534\"/></font><fill>"
           "<patternFill patternType=\"solid\"><bgColor rgb=\"FFBBF7D0\"/></patternFill>"
           "</fill></dxf></dxfs></styleSheet>";
}

std::string cell_xml(const std::string& address, const WorkbookCell& cell) {
    using CellKind = WorkbookCell::Kind;
    const std::string begin =
        fmt::format("<c r=\"{}\" s=\"{}\"", address, static_cast<int>(cell.style));
    if (cell.kind == CellKind::empty) return begin + "/>";
    if (cell.kind == CellKind::text) {
        return begin + " t=\"inlineStr\"><is><t xml:space=\"preserve\">" + xml_text(cell.text) +
               "</t></is></c>";
    }
    const std::string formula = cell.formula.empty() ? "" : "<f>" + xml_text(cell.formula) + "</f>";
    if (cell.kind == CellKind::unknown) return begin + " t=\"str\">" + formula + "<v></v></c>";
    if (cell.kind == CellKind::error) return begin + " t=\"e\">" + formula + "<v>#N/A</v></c>";
    if (cell.kind == CellKind::truth) {
        return begin + " t=\"b\">" + formula + (cell.value != 0 ? "<v>1</v></c>" : "<v>0</v></c>");
    }
    const std::string digits =
        cell.is_single ? shortest_text(static_cast<float>(cell.value)) : shortest_text(cell.value);
    return begin + ">" + formula + "<v>" + digits + "</v></c>";
}

std::string pane_xml(const WorkbookSheet& sheet) {
    if (sheet.frozen_rows == 0 && sheet.frozen_columns == 0) return "";
    std::string sides;
    if (sheet.frozen_columns > 0) sides += fmt::format(" xSplit=\"{}\"", sheet.frozen_columns);
    if (sheet.frozen_rows > 0) sides += fmt::format(" ySplit=\"{}\"", sheet.frozen_rows);
    const char* const side = sheet.frozen_columns == 0 ? "bottomLeft" : "bottomRight";
    return fmt::format("<pane{} topLeftCell=\"{}\" activePane=\"{}\" state=\"frozen\"/>", sides,
                       address_text({sheet.frozen_rows, sheet.frozen_columns}), side);
}

std::string columns_xml(const WorkbookSheet& sheet) {
    constexpr std::int64_t most_columns = 16384;
    std::string text = "<cols>";
    std::int64_t next = 0;
    const auto add = [&](std::int64_t end, double width, const char* more) {
        if (end <= next) return;
        text += fmt::format("<col min=\"{}\" max=\"{}\" width=\"{}\" customWidth=\"1\"{}/>",
                            next + 1, end, width, more);
        next = end;
    };
    for (const double width : sheet.widths) add(next + 1, width, "");
    if (sheet.hidden_from >= 0) {
        add(sheet.hidden_from, sheet.other_width, "");
        add(sheet.hidden_to, sheet.other_width, " hidden=\"1\"");
    }
    add(most_columns, sheet.other_width, "");
    return text + "</cols>";
}

void write_sheet(const WorkbookSheet& sheet, std::string& text) {
    text = fmt::format(
        "{}<worksheet xmlns=\"{}\"><sheetPr><pageSetUpPr "
        "fitToPage=\"1\"/></sheetPr><sheetViews><sheetView showGridLines=\"0\" "
        "workbookViewId=\"0\">{}</sheetView></sheetViews>"
        "<sheetFormatPr defaultRowHeight=\"15\"/>{}<sheetData>",
        xml_head, main_names, pane_xml(sheet), columns_xml(sheet));
    for (const auto& [row, cells] : sheet.rows) {
        const auto height = sheet.heights.find(row);
        text += fmt::format("<row r=\"{}\"", row + 1);
        if (height != sheet.heights.end()) {
            text += fmt::format(" ht=\"{}\" customHeight=\"1\"", height->second);
        }
        text += ">";
        for (const auto& [column, cell] : cells) {
            text += cell_xml(address_text({row, column}), cell);
        }
        text += "</row>";
    }
    text += "</sheetData>";
    if (!sheet.merged.empty()) {
        text += fmt::format("<mergeCells count=\"{}\">", sheet.merged.size());
        for (const std::string& range : sheet.merged) {
            text += fmt::format("<mergeCell ref=\"{}\"/>", range);
        }
        text += "</mergeCells>";
    }
    int priority = 0;
    for (const std::string& range : sheet.scales) {
        text += fmt::format(
            "<conditionalFormatting sqref=\"{}\"><cfRule type=\"colorScale\" "
            "priority=\"{}\"><colorScale><cfvo type=\"num\" val=\"0\"/>"
            "<cfvo type=\"max\"/><color rgb=\"FFFFFFFF\"/>"
            "<color rgb=\"FF7FA8E8\"/></colorScale></cfRule>"
            "</conditionalFormatting>",
            range, ++priority);
    }
    for (const auto& [range, condition] : sheet.checks) {
        text += fmt::format(
            "<conditionalFormatting sqref=\"{}\"><cfRule type=\"expression\" "
            "dxfId=\"0\" priority=\"{}\"><formula>{}</formula></cfRule>"
            "</conditionalFormatting>",
            range, ++priority, xml_text(condition));
    }
    if (!sheet.links.empty()) {
        text += "<hyperlinks>";
        for (const auto& [cell, target] : sheet.links) {
            text += fmt::format("<hyperlink ref=\"{}\" location=\"{}\"/>", cell, xml_text(target));
        }
        text += "</hyperlinks>";
    }
    text +=
        "<pageMargins left=\"0.4\" right=\"0.4\" top=\"0.5\" bottom=\"0.5\" header=\"0.3\" "
        "footer=\"0.3\"/><pageSetup orientation=\"landscape\" "
        "fitToHeight=\"0\"/><ignoredErrors><ignoredError "
        "sqref=\"A1:XFD1048576\" numberStoredAsText=\"1\" formula=\"1\"/></ignoredErrors>"
        "</worksheet>";
}

}  // namespace

void WorkbookSheet::put(std::int64_t row, std::int64_t column, CellStyle style,
                        const std::string& text) {
    constexpr std::size_t longest = 32'000;  // spreadsheets accept 32,767 characters
    std::string shown = text.substr(0, longest);
    while (shown.size() < text.size() && (static_cast<unsigned char>(shown.back()) & 0x80U) != 0) {
        shown.pop_back();
    }
    at(row, column) = {WorkbookCell::Kind::text, style, shown};
}

std::string address_text(const SheetPlace& place, bool is_fixed) {
    std::string letters;
    for (std::int64_t left = place.column + 1; left > 0; left = (left - 1) / 26) {
        letters.insert(letters.begin(), static_cast<char>('A' + (left - 1) % 26));
    }
    const std::string mark = is_fixed ? "$" : "";
    return mark + letters + mark + std::to_string(place.row + 1);
}

std::string cells_text(const SheetPlace& first, const SheetPlace& last, bool is_fixed) {
    const std::string begin = address_text(first, is_fixed);
    return first == last ? begin : begin + ":" + address_text(last, is_fixed);
}

void write_workbook(OutputFile& file, const Workbook& workbook) {
    ZipWriter archive(file);
    archive.add("[Content_Types].xml", content_types(workbook), "");
    archive.add("_rels/.rels", relations({{"officeDocument", "xl/workbook.xml"}}), "");
    archive.add("xl/workbook.xml", workbook_part(workbook), "");
    std::vector<std::pair<std::string, std::string>> targets;
    for (std::size_t i = 0; i < workbook.sheets.size(); ++i) {
        targets.emplace_back("worksheet", sheet_path(i));
    }
    targets.emplace_back("styles", "styles.xml");
    archive.add("xl/_rels/workbook.xml.rels", relations(targets), "");
    archive.add("xl/styles.xml", styles_part(), "");
    std::string text;
    for (std::size_t i = 0; i < workbook.sheets.size(); ++i) {
        write_sheet(workbook.sheets[i], text);
        archive.add("xl/" + sheet_path(i), text, "");
    }
    archive.finish();
}

}  // namespace attn
