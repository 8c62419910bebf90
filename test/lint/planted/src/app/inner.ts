export const inner: unknown = 'app';
