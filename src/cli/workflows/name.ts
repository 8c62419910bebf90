/** The argument of commands on one stored workflow. */
export const NAME = { name: 'NAME', doc: 'The stored workflow' } as const;
