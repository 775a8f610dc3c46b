/* Documents that are zip files, each made here by hand. The parsers run in the test itself, so that a sanitizer
 * sees them. */

#include "core/document/office/office.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/compiler.h"
#include "tests/support/test.h"
#include "tests/support/zip_maker.h"

#define W          "<w:document xmlns:w='http://w'><w:body>"
#define W_END      "</w:body></w:document>"
#define P(text)    "<w:p><w:r><w:t>" text "</w:t></w:r></w:p>"
#define RELS(list) "<Relationships xmlns='r'>" list "</Relationships>"
#define REL(id, type, target)                                                                \
    "<Relationship Id='" id "' Type='http://schemas/relationships/" type "' Target='" target \
    "'/>"
#define R_NS "xmlns:r='http://schemas/officeDocument/2006/relationships'"

#define MAX_FILES 12

/* clang-format off */

/* ---- The documents ---- */

static const struct {
    const char *what;
    struct zip_file files[MAX_FILES];
    const char *text;
} documents[] = {
    {"docx: headings by name, by outline, by what a style is based on, and circles of styles",
     {{"[Content_Types].xml", "<Types/>"},
      {"_rels/.rels", RELS(REL("a", "officeDocument", "/word/document.xml"))},
      {"word/document.xml",
       W "<w:p><w:pPr><w:pStyle w:val='T'/></w:pPr><w:r><w:t>Title</w:t></w:r></w:p>"
         "<w:p><w:pPr><w:pStyle w:val='Mine'/></w:pPr><w:r><w:t>By</w:t></w:r><w:r><w:t> base"
         "</w:t></w:r></w:p>"
         "<w:p><w:pPr><w:outlineLvl w:val='3'/></w:pPr><w:r><w:t>Direct</w:t></w:r></w:p>"
         "<w:p><w:pPr><w:pStyle w:val='Round'/></w:pPr><w:r><w:t>Round</w:t></w:r></w:p>"
         "<w:p/>" P("Plain<!-- x --> &lt;text&gt;") W_END},
      {"word/_rels/document.xml.rels", RELS(REL("s", "styles", "styles.xml"))},
      {"word/styles.xml",
       "<w:styles xmlns:w='http://w'><w:style w:styleId='T'><w:name w:val='Title'/></w:style>"
       "<w:style w:styleId='Mine'><w:basedOn w:val='H2'/></w:style>"
       "<w:style w:styleId='H2'><w:name w:val='Heading 2'/></w:style>"
       "<w:style w:styleId='Round'><w:basedOn w:val='Circle'/></w:style>"
       "<w:style w:styleId='Circle'><w:basedOn w:val='Round'/></w:style></w:styles>"}},
     "# Title\n\n## By base\n\n#### Direct\n\nRound\n\nPlain <text>"},
    {"docx: lists, breaks, notes, and what is not shown",
     {{"_rels/.rels", RELS(REL("a", "officeDocument", "d.xml"))},
      {"d.xml",
       W "<w:p><w:pPr><w:numPr><w:ilvl w:val='0'/></w:numPr></w:pPr><w:r><w:t>one</w:t></w:r></w:p>"
         "<w:p><w:pPr><w:numPr><w:ilvl w:val='1'/></w:numPr></w:pPr><w:r><w:t>two</w:t></w:r></w:p>"
         "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t>"
         "<w:footnoteReference w:id='2'/></w:r></w:p>"
         "<w:p><w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:del><w:r><w:delText>gone"
         "</w:delText></w:r></w:del><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>" W_END},
      {"_rels/d.xml.rels", RELS(REL("n", "footnotes", "n.xml"))},
      {"n.xml", "<w:footnotes xmlns:w='http://w'><w:footnote w:type='separator' w:id='0'>" P(
                    "line") "</w:footnote><w:footnote w:id='2'>" P("A note.") P(
                    "More.") "</w:footnote></w:footnotes>"}},
     "- one\n  - two\n\na b\nc[^2]\n\n[^2]: A note.\n\nMore."},
    {"docx: tables, in tables too",
     {{"_rels/.rels", RELS(REL("a", "officeDocument", "d.xml"))},
      {"d.xml", W P("before") "<w:tbl><w:tr><w:tc>" P("a") P("b") "</w:tc><w:tc>" P("c|d")
                    "</w:tc></w:tr><w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>" P("wide")
                    "</w:tc><w:tc><w:tbl><w:tr><w:tc>" P("in") "</w:tc><w:tc>" P("ner")
                    "</w:tc></w:tr></w:tbl>" P("out") "</w:tc></w:tr></w:tbl>" P("after") W_END}},
     "before\n\n| a b | c\\|d |\n| --- | --- |\n| wide |  | in ner out |\n\nafter"},
    {"docx: entities are not expanded",
     {{"_rels/.rels", RELS(REL("a", "officeDocument", "d.xml"))},
      {"d.xml", "<!DOCTYPE w:document [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>"
                "<!ENTITY f SYSTEM 'file:///usr/share/common-licenses/GPL-3'>]>" W P("&b;&f;&amp;")
                    W_END}},
     "&b;&f;&"},
    {"xlsx: strings, numbers, dates, gaps, and the order of sheets",
     {{"xl/s1.xml",
       "<worksheet xmlns='m'><sheetData>"
       "<row r='1'><c r='A1' t='s'><v>0</v></c><c r='B1' t='s'><v>2</v></c><c r='C1' t='s'><v>99"
       "</v></c></row>"
       "<row r='2'><c r='A2' s='1'><v>45351</v></c><c r='B2'><v>0.10000000000000001</v></c>"
       "<c r='D2' t='b'><v>1</v></c></row>"
       "<row r='3'><c r='A3' s='2'><v>45351.75</v></c><c t='str'><v>two|</v></c>"
       "<c r='A3'><v>7</v></c><c t='e'><v>#N/A</v></c></row>"
       "<row r='4'><c r='A4' s='3'><v>0.5</v></c><c t='inlineStr'><is><t>in</t><t>line</t></is></c>"
       "<c s='4'><v>1</v></c><c r='ZZZZZZ4'><f>1+1</f><v>1e300</v></c></row>"
       "<row r='5'><c r='A5'/></row></sheetData></worksheet>"},
      {"xl/s2.xml", "<worksheet><sheetData><row><c><v>5</v></c></row></sheetData></worksheet>"},
      {"_rels/.rels", RELS(REL("a", "officeDocument", "xl/w.xml"))},
      {"xl/w.xml", "<workbook " R_NS "><sheets><sheet name='B &amp; B' r:id='z'/><sheet name='Zwei' "
                   "r:id='y'/><sheet name='gone' r:id='x'/><sheet name='again' r:id='y'/>"
                   "</sheets></workbook>"},
      {"xl/_rels/w.xml.rels",
       RELS(REL("y", "worksheet", "s2.xml") REL("z", "worksheet", "./s1.xml") REL(
           "s", "sharedStrings", "../xl/strings.xml") REL("t", "styles", "styles.xml"))},
      {"xl/strings.xml", "<sst><si><t>day</t><rPh><t>dei</t></rPh></si><si/><si><r><t>a</t></r><r><t>b"
                         "</t></r></si></sst>"},
      {"xl/styles.xml",
       "<styleSheet><numFmts><numFmt numFmtId='164' formatCode='[Red]\"d\"\\y 0'/>"
       "<numFmt numFmtId='165' formatCode='[$-409]d. mmm yyyy'/></numFmts>"
       "<cellStyleXfs><xf numFmtId='14'/></cellStyleXfs><cellXfs><xf numFmtId='0'/>"
       "<xf numFmtId='165'/><xf numFmtId='22'/><xf numFmtId='20'/><xf numFmtId='164'/></cellXfs>"
       "</styleSheet>"}},
     "# B & B\n\n| day | ab |\n| --- | --- |\n| 2024-02-29 | 0.1 |  | TRUE |\n"
     "| 2024-02-29 18:00:00 | two\\| | 7 | #N/A |\n| 12:00:00 | inline | 1 | 1e+300 |\n\n"
     "# Zwei\n\n| 5 |\n| --- |"},
    {"pptx: slides in their order, titles, lists, tables, notes",
     {{"_rels/.rels", RELS(REL("a", "officeDocument", "ppt/p.xml"))},
      {"ppt/slides/1.xml",
       "<p:sld xmlns:p='p' xmlns:a='a'><p:sp><p:nvPr><p:ph type='title'/></p:nvPr><a:p><a:r><a:t>"
       "Second</a:t></a:r></a:p></p:sp><p:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:t>x</a:t></a:p>"
       "</a:tc><a:tc><a:p><a:t>y</a:t></a:p></a:tc></a:tr></a:tbl></p:graphicFrame></p:sld>"},
      {"ppt/slides/2.xml",
       "<p:sld xmlns:p='p' xmlns:a='a'><p:sp><a:p><a:t>Text</a:t></a:p><a:p><a:pPr lvl='1'/><a:t>"
       "sub</a:t></a:p><a:p><a:pPr><a:buChar char='*'/></a:pPr><a:t>item</a:t></a:p></p:sp><p:sp>"
       "<p:ph type='sldNum'/><a:p><a:t>7</a:t></a:p></p:sp></p:sld>"},
      {"ppt/notes/1.xml", "<p:notes xmlns:p='p' xmlns:a='a'><p:sp><p:ph type='body'/><a:p><a:t>Say."
                          "</a:t></a:p></p:sp></p:notes>"},
      {"ppt/slides/_rels/2.xml.rels", RELS(REL("n", "notesSlide", "../notes/1.xml"))},
      {"ppt/slides/3.xml", "<p:sld xmlns:p='p'/>"},
      {"ppt/p.xml",
       "<p:presentation xmlns:p='p' " R_NS "><p:sldIdLst><p:sldId id='9' r:id='b'/><p:sldId id='8' "
       "r:id='a'/><p:sldId id='7' r:id='c'/></p:sldIdLst></p:presentation>"},
      {"ppt/_rels/p.xml.rels",
       RELS(REL("a", "slide", "slides/1.xml") REL("b", "slide", "slides/2.xml") REL(
           "c", "slide", "slides/3.xml"))}},
     "Text\n  - sub\n- item\n\nNotes: Say.\n\f# Second\n\n| x | y |\n| --- | --- |\n\f\f"},
    {"odt: headings, lists, tables, notes, changes",
     {{"mimetype", "application/vnd.oasis.opendocument.text"},
      {"content.xml",
       "<d xmlns:t='t'><t:tracked-changes><t:p>deleted</t:p></t:tracked-changes>"
       "<t:h t:outline-level='2'>Head</t:h><t:p>A<t:s t:c='3'/>b<t:tab/>c<t:line-break/>d"
       "<t:note><t:note-citation>1</t:note-citation><t:note-body><t:p>note</t:p></t:note-body>"
       "</t:note>.</t:p><t:list><t:list-item><t:p>one</t:p><t:list><t:list-item><t:p>deep</t:p>"
       "</t:list-item></t:list></t:list-item><t:list-item><t:p>two</t:p></t:list-item></t:list>"
       "<t:p>after</t:p><t:table t:name='T'><t:table-row><t:table-cell><t:p>a</t:p><t:p>b</t:p>"
       "</t:table-cell><t:table-cell><t:p>c</t:p></t:table-cell></t:table-row></t:table></d>"}},
     "## Head\n\nA b c\nd [ note].\n\n- one\n  - deep\n- two\n\nafter\n\n| a b | c |\n| --- | --- |"},
    {"ods: cells and rows that repeat",
     {{"mimetype", "application/vnd.oasis.opendocument.spreadsheet-template"},
      {"META-INF/manifest.xml", "<manifest/>"},
      {"content.xml",
       "<d xmlns:t='t'><t:table t:name='S'><t:table-row><t:table-cell t:number-columns-repeated='2'>"
       "<t:p>a</t:p></t:table-cell><t:table-cell t:number-columns-repeated='16000'/></t:table-row>"
       "<t:table-row t:number-rows-repeated='2'><t:table-cell t:number-columns-repeated='2'/>"
       "<t:table-cell><t:p>1|</t:p><t:p>2</t:p></t:table-cell></t:table-row>"
       "<t:table-row t:number-rows-repeated='1048570'><t:table-cell "
       "t:number-columns-repeated='16384'/></t:table-row></t:table></d>"}},
     "# S\n\n| a | a |\n| --- | --- |\n|  |  | 1\\| 2 |\n|  |  | 1\\| 2 |"},
    {"odp: slides with a title, without what all slides have, with notes",
     {{"mimetype", "application/vnd.oasis.opendocument.presentation\n"},
      {"content.xml",
       "<d xmlns:t='t' xmlns:p='urn:oasis:presentation:1.0'><t:page><t:frame p:class='title'><t:p>Hi"
       "</t:p></t:frame><t:frame p:class='footer'><t:p>foot</t:p></t:frame><t:frame><t:p>text</t:p>"
       "</t:frame><t:notes><t:frame p:class='notes'><t:p>Say it.</t:p></t:frame></t:notes></t:page>"
       "<t:page><t:notes/></t:page></d>"}},
     "# Hi\n\ntext\n\nNotes: Say it.\n\f\f"},
    {"epub: chapters in the order of the spine, names with signs",
     {{"mimetype", "application/epub+zip"},
      {"META-INF/container.xml",
       "<c><rootfiles><rootfile full-path='O/b%20k.opf'/></rootfiles></c>"},
      {"O/b k.opf",
       "<p><manifest><item id='a' href='t/1.xhtml#x'/><item id='b' href='t/%E4%B8%AD.xhtml'/>"
       "<item id='p' href='p.png'/></manifest><spine><itemref idref='b'/><itemref idref='a'/>"
       "<itemref idref='none'/><itemref idref='b'/></spine></p>"},
      {"O/t/1.xhtml", "<?xml version='1.0'?><html><head><title/></head><body><h1>One</h1><p>a<br/>b"
                      "<i/>c</p></body></html>"},
      {"O/t/\xE4\xB8\xAD.xhtml", "<html><body><h1>Two</h1></body></html>"}},
     "# Two\n\n# One\n\na\nbc"},
};

/* clang-format on */

static size_t count_files(const struct zip_file *files)
{
    size_t count = 0;

    while (count < MAX_FILES && files[count].name)
        count++;
    return count;
}

TEST(the_structure_of_a_document_is_kept)
{
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        AUTO_BUF bytes = {0}, text = {0};
        struct text_writer writer = {.text = &text};
        enum reading problem;

        zip_of(&bytes, documents[i].files, count_files(documents[i].files));
        problem = office_write(&writer, bytes.data, bytes.length);
        if (problem)
            fail_msg("%s: problem %d", documents[i].what, (int)problem);
        if (strcmp(text.data ? text.data : "", documents[i].text) != 0)
            fail_msg("%s: '%s'", documents[i].what, text.data);
    }
}

/* ---- What is wrong with them ---- */

/* clang-format off */
#define ODT {"mimetype", "application/vnd.oasis.opendocument.text"}
#define OFFICE {"_rels/.rels", RELS(REL("a", "officeDocument", "d.xml"))}

static const struct {
    const char *what;
    struct zip_file files[MAX_FILES];
    enum reading problem;
} refused[] = {
    {"no document", {{"a.txt", "text"}, {"word/document.xml", W W_END}}, READING_NO_DOCUMENT},
    {"a zip in a zip", {{"inner.zip", "PK\x03\x04"}}, READING_NO_DOCUMENT},
    {"another root", {OFFICE, {"d.xml", "<drawing/>"}}, READING_NO_DOCUMENT},
    {"another mimetype",
     {{"mimetype", "application/vnd.oasis.opendocument.graphics"}, {"content.xml", "<a/>"}},
     READING_NO_DOCUMENT},
    {"no main part", {OFFICE}, READING_INCOMPLETE},
    {"no content", {ODT}, READING_INCOMPLETE},
    {"a book without a container", {{"mimetype", "application/epub+zip"}}, READING_INCOMPLETE},
    {"a book without a list",
     {{"mimetype", "application/epub+zip"},
      {"META-INF/container.xml", "<c><rootfile full-path='x'/></c>"}},
     READING_INCOMPLETE},
    {"XML that is cut", {OFFICE, {"d.xml", W P("text")}}, READING_DAMAGED},
    {"no XML", {ODT, {"content.xml", "\x01\x02\x03"}}, READING_DAMAGED},
    {"a part out of the package",
     {{"_rels/.rels", RELS(REL("a", "officeDocument", "../../../etc/passwd"))}},
     READING_INCOMPLETE},
    {"a password of OpenDocument",
     {ODT,
      {"META-INF/manifest.xml", "<m><file-entry><encryption-data/></file-entry></m>"},
      {"content.xml", "\x8F\x01"}},
     READING_ENCRYPTED},
    {"a locked book",
     {{"mimetype", "application/epub+zip"},
      {"META-INF/container.xml", "<c><rootfile full-path='b.opf'/></c>"},
      {"META-INF/encryption.xml", "<e><CipherReference URI='1.xhtml'/></e>"},
      {"b.opf", "<p><item id='a' href='1.xhtml'/><itemref idref='a'/></p>"},
      {"1.xhtml", "\x8F\x01"}},
     READING_ENCRYPTED},
};

/* clang-format on */

TEST(what_is_wrong_is_named)
{
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        AUTO_BUF bytes = {0}, text = {0};
        struct text_writer writer = {.text = &text};
        enum reading problem;

        zip_of(&bytes, refused[i].files, count_files(refused[i].files));
        problem = office_write(&writer, bytes.data, bytes.length);
        if (problem != refused[i].problem)
            fail_msg("%s: problem %d, not %d", refused[i].what, (int)problem,
                     (int)refused[i].problem);
    }
}

/* A font of a book may be locked, its text is not. */
TEST(a_book_with_a_locked_font_is_read)
{
    static const struct zip_file files[] = {
        {"mimetype", "application/epub+zip"},
        {"META-INF/container.xml", "<c><rootfile full-path='b.opf'/></c>"},
        {"META-INF/encryption.xml", "<e><CipherReference URI='font.otf'/></e>"},
        {"b.opf", "<p><item id='a' href='1.xhtml'/><itemref idref='a'/></p>"},
        {"1.xhtml", "<p>open"}};
    AUTO_BUF bytes = {0}, text = {0};
    struct text_writer writer = {.text = &text};

    zip_of(&bytes, files, COUNT_OF(files));
    assert_int_equal(office_write(&writer, bytes.data, bytes.length), READING_DONE);
    assert_string_equal(text.data, "open");
}

/* Cut anywhere, and with any byte changed: an error, or a text, and never more. */
TEST(a_broken_package_ends_with_an_error_or_a_text)
{
    AUTO_BUF bytes = {0};
    size_t read = 0;

    zip_of(&bytes, documents[4].files, count_files(documents[4].files));
    for (size_t i = 0; i < bytes.length; i += 7) {
        AUTO_BUF text = {0}, changed = {0};
        struct text_writer writer = {.text = &text};

        buf_add(&changed, bytes.data, bytes.length);
        changed.data[i] = (char)~changed.data[i];
        read += office_write(&writer, changed.data, changed.length) == READING_DONE;
        buf_reset(&text);
        (void)office_write(&writer, bytes.data, i);
    }
    assert_true(read < bytes.length / 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_structure_of_a_document_is_kept),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(a_book_with_a_locked_font_is_read),
        cmocka_unit_test(a_broken_package_ends_with_an_error_or_a_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
