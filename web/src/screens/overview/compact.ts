/** Large numbers in few characters: 12.3K. */

export const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
