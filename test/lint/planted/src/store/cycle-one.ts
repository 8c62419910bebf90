import { two } from './cycle-two.ts'; // expect: no-cycle

export const one = (): number => two();
