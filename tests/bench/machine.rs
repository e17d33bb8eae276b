//! What one step of the machine and one trip through the stored form cost.

fn main() {
    divan::main();
}
