//! What the handlers read of a request's body: an order, and a text that is analysed. The input is the body, and as
//! UTF-8 the text too.

use reprise::content::Content;
use reprise::handler::analyze::{FREQUENT_WORD_BYTES_MAX, FREQUENT_WORDS_MAX, analyze, trimmed};
use reprise::handler::order::{Order, PRODUCT_ID_MAX};
use reprise::text::{Class, Grapheme, Text};
use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation as _;

const QUANTITY_MAX: u64 = 1_000;

pub(super) fn check(data: &[u8]) {
    order(data);
    if let Ok(text) = str::from_utf8(data) {
        cut(text);
        analysed(text);
    }
}

/// An order is an object of two whole numbers within their ranges, and nothing else.
fn order(body: &[u8]) {
    let value = serde_json::from_slice::<Value>(body);
    let order = match (Order::read(&Content::new(body), QUANTITY_MAX), value) {
        (Ok(order), Ok(value)) => {
            let members = value.as_object().expect("an order is an object");
            assert_eq!(members.len(), 2);
            #[expect(
                clippy::cast_precision_loss,
                reason = "both are exact up to their limits"
            )]
            let numbers = [order.product_id, order.quantity].map(|number| number as f64);
            let sent = ["product_id", "quantity"].map(|name| members[name].as_f64());
            assert_eq!(sent, numbers.map(Some));
            order
        }
        (Ok(order), Err(error)) => panic!("{order:?} of what is no JSON: {error}"),
        (Err(problem), _) => return assert!(!problem.is_empty()),
    };
    assert!((1..=PRODUCT_ID_MAX).contains(&order.product_id));
    assert!((1..=QUANTITY_MAX).contains(&order.quantity));
}

/// A text is cut as the reference cuts it. Where a pictograph follows a joiner the reference forgets what came before.
fn cut(text: &str) {
    let seen = Text::new(text);
    let ours = (seen.characters(), seen.words(), seen.sentences());
    let follows_joiner = text
        .split('\u{200d}')
        .skip(1)
        .filter_map(|rest| rest.chars().next())
        .any(|char| Class::of(char).grapheme == Grapheme::Pictograph);
    if !follows_joiner {
        let theirs = (
            text.graphemes(true).count(),
            text.unicode_words().collect::<Vec<_>>(),
            text.unicode_sentences().count(),
        );
        assert_eq!(ours, theirs, "{text:?}");
    }
}

fn analysed(raw: &str) {
    let Ok(seen) = analyze(raw) else {
        return assert!(raw.trim().is_empty());
    };
    assert_eq!(Ok(seen.text), trimmed(raw));
    let counts = &seen.analysis;
    assert_eq!(counts.bytes, seen.text.len());
    assert!(counts.unique_words <= counts.words && counts.words <= counts.bytes);
    assert!((1..=counts.bytes).contains(&counts.characters));
    assert!((1..=counts.bytes).contains(&counts.lines));
    let frequent = &counts.most_frequent_words;
    assert!(frequent.len() <= FREQUENT_WORDS_MAX.min(counts.unique_words));
    assert!(frequent.iter().map(|one| one.count).sum::<usize>() <= counts.words);
    for one in frequent {
        assert!(one.count > 0 && one.word.len() <= FREQUENT_WORD_BYTES_MAX);
    }
    let is_sorted = frequent
        .windows(2)
        .all(|pair| (pair[1].count, &pair[0].word) < (pair[0].count, &pair[1].word));
    assert!(is_sorted, "{frequent:?}");
}
