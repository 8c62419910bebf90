export const inner: unknown = 'store';
