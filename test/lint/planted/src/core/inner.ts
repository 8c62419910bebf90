export const inner: unknown = 'core';
