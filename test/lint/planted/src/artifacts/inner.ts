export const inner: unknown = 'artifacts';
