export const inner: unknown = 'server';
