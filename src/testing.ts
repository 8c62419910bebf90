export { type StoreContractOptions, storeContract } from './store/conformance/kit/contract.ts';
export type { CallerHandle } from './store/conformance/kit/scene.ts';
export { VirtualWorld, type VirtualWorldOptions } from './store/conformance/kit/virtual-world.ts';
export { type LinkContractOptions, linkContract } from './worker/conformance/link-contract.ts';
export type { LinkOperator, LinkSetting, LinkWorld } from './worker/conformance/scene.ts';
export {
  crashEverywhere,
  type TestWorld,
  testWorkflow,
  type WorkflowTest,
  type WorkflowTested,
} from './worker/workflow/test-workflow.ts';
