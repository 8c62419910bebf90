/** Signed tasks, for the command line, which may not import the protocol. */
export {
  keyIdOf,
  readSigningKey,
  readTrustedKeys,
  type SigningKey,
  signTask,
} from '../protocol/signed-task.ts';
