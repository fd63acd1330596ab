"""The report page: complete, self-contained, well-formed, and safe against hostile names."""

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_programs import chain, image_classification
from report_manifests import bench, manifest, quant_report

from edgecc.quantize.report import FloatRow
from edgecc.quantize.weight_report import GroupedRow, WeightReport
from edgecc.report import html_report
from edgecc.report.memory_map import blocks
from edgecc.report.memory_svg import live_bytes

VOID = {"meta"}
NAMES = {"html", "head", "body", "title", "style", "main", "section", "h1", "h2", "p", "div",
         "span", "b", "i", "code", "table", "thead", "tbody", "tr", "th", "td", "details",
         "summary", "svg", "g", "rect", "line", "circle", "text", "meta"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "style", "viewbox",
              "role", "aria-label", "x", "y", "x1", "x2", "y1", "y2", "dy", "cx", "cy", "r", "rx",
              "width", "height", "transform", "text-anchor"}


class Reader(HTMLParser):
    """Collects text and tags, and sees to it that every tag is closed in turn."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], set(), []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


def test_page_says_what_it_must():
    about = manifest()
    page = html_report(about, bench(about), quant_report(about))
    words = " ".join(read(page).words)
    for fact in ("vww.onnx", "Raspberry Pi 5", "golden vectors: pass", "55,296 B", "1,152 B",
                 "131,000 B", "725,430", "instructions per inference", "the lower bound",
                 "peak: make_t3", "int8_conv2d_4x16__dotprod", "not fast: no fast int8 softmax",
                 "output SQNR 31.2 dB", "worst layer: conv_12, 19.8 dB", "0.0235",
                 "kept by request", "image", "1x96x96x3", "emulated: no latency is claimed",
                 "config: threads"):
        assert fact in words, fact


def test_page_of_4_bit_weights_has_every_layer():
    report = WeightReport((GroupedRow("dense_1", 128, 640, 327680, 46080, 19.25),),
                          (FloatRow("head", "Gemm", "50 weights are too few"),), 32, "symmetric")
    words = " ".join(read(html_report(manifest(), None, json.loads(report.to_json()))).words)
    for fact in ("dense_1", "128x640", "327,680", "46,080", "19.2", "50 weights are too few",
                 "worst layer: dense_1, 19.2 dB"):
        assert fact in words, fact


def test_measured_page_has_the_distribution():
    about = manifest(image_classification())
    words = " ".join(read(html_report(about, bench(about, timed=True))).words)
    for fact in ("412.4 µs", "min 409.8", "p99 441.2", "Verdict: stable", "performance", "51.2"):
        assert fact in words, fact


def test_page_says_why_something_was_not_counted():
    about = manifest()
    found = {**bench(about), "instructions": None, "instructions_reason": "QEMU has no plug-ins"}
    words = " ".join(read(html_report(about, found)).words)
    assert "no latency is claimed (QEMU has no plug-ins)" in words


def test_page_without_measurement_or_details():
    about = manifest(image_classification(), quantization=None, stack_bytes=None)
    for optional in ("memory", "model", "target_info", "tools", "config", "seeds", "name"):
        del about[optional]
    words = " ".join(read(html_report(about)).words)
    assert "not measured" in words and "share of MACs" in words
    assert "Quantization" not in words and "RAM: stack" not in words and "Time" not in words


@pytest.mark.parametrize("timed", [False, True])
def test_page_is_self_contained(timed):
    about = manifest()
    page = html_report(about, bench(about, timed))
    reader = read(page)
    assert set(reader.tags) <= NAMES | {"title"} and reader.attributes <= ATTRIBUTES
    assert "default-src &#x27;none&#x27;" in page
    assert not re.search(r"https?://|url\(|@import|src=|href=", page)


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\' style="x" &\x1b\u202e'


def poisoned(value, poison):
    """Every string of a JSON value replaced."""
    if isinstance(value, dict):
        return {k: poisoned(v, poison) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(v, poison) for v in value]
    return poison if isinstance(value, str) else value


def assert_safe(poison):
    about = manifest(chain("c", [64, 64, 64]))
    values = [poisoned(v, poison) for v in (about, bench(about, True), quant_report(about))]
    values[0]["memory"]["peak_step"] = values[0]["steps"][0]["name"]
    reader = read(html_report(*values))
    assert set(reader.tags) <= NAMES and reader.attributes <= ATTRIBUTES


def test_hostile_names_are_escaped_everywhere():
    assert_safe(HOSTILE)
    about = manifest(chain("c", [64, 64]))
    page = html_report(poisoned(about, HOSTILE), poisoned(bench(about), HOSTILE))
    assert "<script" not in page and "<img" not in page and "\x1b" not in page


@settings(max_examples=60)
@given(st.text(alphabet=st.sampled_from(list("<>\"'&;/= abc-!\x00\n]")), min_size=1, max_size=20))
def test_any_name_is_escaped(poison):
    assert_safe(poison)


def test_same_values_same_page():
    about = manifest()
    assert html_report(about, bench(about)) == html_report(manifest(), bench(about))


def test_long_tables_of_tensors_are_folded():
    about = manifest(chain("long", [16] * 60))
    words = " ".join(read(html_report(about, None, quant_report(about))).words)
    assert "all 59 tensors" in words


def test_live_bytes_count_shared_bytes_once():
    about = manifest(chain("c", [64, 64, 64], in_place=True))
    assert about["arena_bytes"] == 64
    assert live_bytes(blocks(about), 2) == [64, 64]
    assert live_bytes(blocks(manifest(chain("c", [64, 32, 64]))), 2) == [96, 96]
