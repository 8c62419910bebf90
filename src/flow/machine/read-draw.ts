import { type Amount, UNITS, type Unit } from '../../core/limits/budget.ts';
import { isMap, kindOf } from '../expression/values.ts';
import type { Fields } from './fields.ts';
import type { Problems } from './problems.ts';

const MILLION = 1_000_000;

/** `draw: {tokens, money, calls, ms}`: the most that a call of an agent may cost. Money is in dollars here, and in millionths in a budget. */
export function readDraw(fields: Fields, problems: Problems): readonly Amount[] {
  const value = fields.value('draw');
  if (value === undefined) return [];
  const path = fields.pathOf('draw');
  if (!isMap(value)) {
    problems.error(path, `expected a map of ${UNITS.join(', ')}, found ${kindOf(value)}`);
    return [];
  }
  return Object.entries(value).flatMap(([unit, amount]) => {
    if (!UNITS.includes(unit as Unit)) problems.error([...path, unit], `expected one of ${UNITS.join(', ')}`);
    else if (typeof amount !== 'number' || !(amount >= 0)) problems.error([...path, unit], 'expected a number');
    else return [{ unit: unit as Unit, amount: Math.ceil(unit === 'money' ? amount * MILLION : amount) }];
    return [];
  });
}
