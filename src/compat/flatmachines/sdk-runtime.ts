import type { RegistrationBackend } from '../../app/pools/registration-backend.ts';
import type { WorkBackend } from '../../app/pools/work-backend.ts';

/** The fields that FlatMachines adds to the runtime of an SDK. */
export interface SDKRuntimeWrapper {
  readonly registration_backend?: RegistrationBackend;
  readonly work_backend?: WorkBackend;
}
