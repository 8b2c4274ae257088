// In a notebook: the block whose data this script came with.
const block = document.currentScript.closest(".surfer");
setUp(block, block.surferGiven);
