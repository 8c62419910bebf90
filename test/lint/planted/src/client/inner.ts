export const inner: unknown = 'client';
