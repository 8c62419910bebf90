export const inner: unknown = 'engine';
