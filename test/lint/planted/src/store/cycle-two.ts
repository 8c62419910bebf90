import { one } from './cycle-one.ts'; // expect: no-cycle

export const two = (): number => one();
