export const inner: unknown = 'compat';
