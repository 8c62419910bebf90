import { env } from 'node:process';

export const home = process.env.HOME ?? env.HOME;
