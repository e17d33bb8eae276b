//! Who is measured.

/// One of the services that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// Reprise, in our host or in Spin.
    Reprise,
    /// A component that makes the same key-value calls and does nothing else, in the same.
    Bare,
    /// A native service over SQLite.
    Twin,
    /// Restate with an order handler in JavaScript.
    Restate,
}

impl Subject {
    pub(crate) const ALL: [Self; 4] = [Self::Reprise, Self::Bare, Self::Twin, Self::Restate];

    pub(crate) const fn letter(self) -> &'static str {
        match self {
            Self::Reprise => "a",
            Self::Bare => "b",
            Self::Twin => "c",
            Self::Restate => "d",
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Reprise => "(a) Reprise",
            Self::Bare => "(b) bare",
            Self::Twin => "(c) twin",
            Self::Restate => "(d) Restate",
        }
    }

    /// Whether it is a component, which has a host that counts its calls.
    pub(crate) const fn is_component(self) -> bool {
        match self {
            Self::Reprise | Self::Bare => true,
            Self::Twin | Self::Restate => false,
        }
    }
}
