/* A document for init(). poppler opens files for fonts that are not embedded, when it
 * first meets them: how bytes become characters of a collection, and which characters of
 * Unicode these are. It keeps four of each kind, so there is one font of each collection;
 * the encodings are those that are met most often. */
#include "pdf.h"

#define FONT(number, encoding, ordering)                                                 \
    number " 0 obj<</Type/Font/Subtype/Type0/BaseFont/A/Encoding/" encoding              \
           "/DescendantFonts[<</Type/Font/Subtype/CIDFontType0/BaseFont/A"               \
           "/CIDSystemInfo<</Registry(Adobe)/Ordering(" ordering ")/Supplement 0>>"      \
           "/FontDescriptor<</Type/FontDescriptor/FontName/A/Flags 4>>>>]>>endobj\n"

const char pdf_sample[] =
    "%PDF-1.4\n"
    "1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<<"
    "/Font<</A 5 0 R/B 6 0 R/C 7 0 R/D 8 0 R/E 9 0 R>>>>>>endobj\n"
    "4 0 obj<</Length 111>>stream\n"
    "BT /A 9 Tf 9 9 Td <b0a1> Tj /B 9 Tf <889f> Tj /C 9 Tf <a440> Tj "
    "/D 9 Tf <b0a1> Tj /E 9 Tf (a) Tj ET            \n"
    "endstream endobj\n" FONT("5", "GBK-EUC-H", "GB1") FONT("6", "90ms-RKSJ-H", "Japan1")
        FONT("7", "ETen-B5-H", "CNS1") FONT(
            "8", "KSCms-UHC-H",
            "Korea1") "9 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n"
                      "trailer<</Size 10/Root 1 0 R>>\n%%EOF\n";
