export const inner: unknown = 'config';
