export const home = process.env.HOME; // expect: no-process-env no-restricted-properties
export const path = process['env']['PATH']; // expect: no-process-env no-restricted-properties
export const { env } = process; // expect: no-restricted-properties
