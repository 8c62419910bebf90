import type { Contender } from '../contenders/contender.ts';
import type { StoreName } from '../contenders/index.ts';
import type { Ground } from '../ground/ground.ts';
import type { Measure } from '../measures/measure.ts';
import type { Target } from '../targets/target.ts';

/** Everything that is run, and expected, on one kind of store. */
export interface Suite {
  readonly store: StoreName;
  readonly title: string;
  /** In the order of the table's columns. */
  readonly contenders: readonly Contender[];
  /** The contender that ratios refer to. */
  readonly reference: string;
  /** In the order of the table's rows. */
  readonly measures: readonly Measure[];
  readonly targets: readonly Target[];
  /** The built package that its children use; without it they run from source. */
  readonly dist?: string;
  open(): Promise<Ground>;
}
