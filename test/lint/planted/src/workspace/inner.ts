export const inner: unknown = 'workspace';
