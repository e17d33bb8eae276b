//! Backoff schedules: whole tables of bounds, and the shape of the jitter.

use reprise::machine::{Backoff, Millis, Seed};

const CAP: u64 = 60_000;

fn constant() -> Backoff {
    Backoff::Constant {
        delay_ms: Millis::new(700),
    }
}

fn exponential() -> Backoff {
    Backoff::Exponential {
        base_ms: Millis::new(500),
        cap_ms: Millis::new(CAP),
    }
}

fn jitter(base_ms: u64, cap_ms: u64, floor_ms: u64) -> Backoff {
    Backoff::FullJitter {
        base_ms: Millis::new(base_ms),
        cap_ms: Millis::new(cap_ms),
        floor_ms: Millis::new(floor_ms),
    }
}

/// (failures so far, exponential wait): scenarios 21 and 27.
const SCHEDULE: &[(u32, u64)] = &[
    (0, 500),
    (1, 500),
    (2, 1_000),
    (3, 2_000),
    (4, 4_000),
    (5, 8_000),
    (6, 16_000),
    (7, 32_000),
    (8, CAP),
    (9, CAP),
    (54, CAP),
    (55, CAP),
    (56, CAP),
    (57, CAP),
    (63, CAP),
    (64, CAP),
    (65, CAP),
    (66, CAP),
    (1_000, CAP),
    (4_000_000_000, CAP),
    (u32::MAX, CAP),
];

#[test]
fn each_schedule_keeps_to_its_whole_table() {
    for (failures, wait) in SCHEDULE {
        for seed in 0..200 {
            let seed = Seed::new(seed);
            assert_eq!(constant().delay(*failures, seed), Millis::new(700));
            assert_eq!(
                exponential().delay(*failures, seed),
                Millis::new(*wait),
                "after {failures} failures"
            );
            let drawn = jitter(500, CAP, 0).delay(*failures, seed).get();
            assert!(
                drawn <= *wait,
                "{drawn} after {failures} failures is above {wait}"
            );
            let raised = jitter(500, CAP, 300).delay(*failures, seed).get();
            assert_eq!(
                raised,
                drawn.max(300),
                "the floor only raises what is below it"
            );
        }
    }
}

#[test]
fn jitter_reaches_both_ends_of_each_range() {
    for (failures, top) in [(1, 3), (2, 6), (3, 10)] {
        let drawn: std::collections::BTreeSet<u64> = (0..1_000)
            .map(|seed| jitter(3, 10, 0).delay(failures, Seed::new(seed)).get())
            .collect();
        assert!(
            drawn.iter().copied().eq(0..=top),
            "after {failures} failures: {drawn:?}"
        );
    }
}

#[test]
fn the_longest_wait_is_never_passed_and_is_met() {
    for (backoff, longest) in [
        (constant(), 700),
        (exponential(), CAP),
        (jitter(500, CAP, 400), CAP),
    ] {
        assert_eq!(backoff.longest(), Millis::new(longest));
    }
    assert_eq!(
        exponential().delay(99, Seed::new(1)),
        exponential().longest()
    );
}

/// 100,000 draws in 100 bins. With 99 degrees of freedom the statistic lies within these bounds with a probability of
/// 0.998; the seeds are fixed, so the outcome is too.
#[test]
fn jitter_is_uniform() {
    let backoff = jitter(99_999, 99_999, 0);
    let draws = |start: u64, step: u64| {
        (0..100_000_u64).map(move |i| {
            backoff
                .delay(1, Seed::new(start.wrapping_add(i.wrapping_mul(step))))
                .get()
        })
    };
    // Neighbouring seeds, seeds that differ in their upper bits alone, and scattered ones.
    for (start, step) in [
        (0, 1),
        (5, 1 << 40),
        (0x1234_5678_9abc_def0, 0x2545_f491_4f6c_dd1d),
    ] {
        let statistic = chi_square_thousandths(draws(start, step));
        assert!(
            (61_137..148_230).contains(&statistic),
            "start {start}, step {step}: {statistic}"
        );
    }
}

#[test]
fn the_uniformity_check_sees_a_bias() {
    // A draw of 17 bits brought into range by a remainder favours the lower third.
    let biased = (0..100_000_u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 47) % 100_000);
    assert!(chi_square_thousandths(biased) > 148_230);
    let too_even = 0..100_000_u64;
    assert!(chi_square_thousandths(too_even) < 61_137);
}

/// Pearson's statistic over 100 bins of 1,000 values each, in thousandths: with 1,000 expected draws in each bin, the
/// sum of squared differences is the statistic times 1,000.
fn chi_square_thousandths(draws: impl Iterator<Item = u64>) -> u64 {
    let mut bins = [0_u64; 100];
    for draw in draws {
        bins[usize::try_from(draw / 1_000).expect("a small number")] += 1;
    }
    bins.iter().map(|count| count.abs_diff(1_000).pow(2)).sum()
}
